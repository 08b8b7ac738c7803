/** A prompt as a file says it, whoever has written it: without blank space around it, its lines ended by LF. */
export const asInFile = (prompt: string): string => prompt.replace(/\r\n?/g, '\n').trim();
