/** The environment of the program: this file is its only reader on the side of the command line. */
export const getEnvironment = (): Record<string, string | undefined> => process.env;
