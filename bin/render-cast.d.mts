export type Screen = { write(text: string): void; read(): { text: string; style: string }[][] };
/** A terminal that knows what floe writes. */
export function createScreen(columns: number, rows: number): Screen;
/** An asciicast as an SVG that moves by itself. */
export function renderCast(text: string): string;
