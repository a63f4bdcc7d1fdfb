/** The name under which the package is published. Whatever installs or looks up floe takes it from here. */
export const packageName = "floe";
