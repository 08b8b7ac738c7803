export type JsonObject = Record<string, unknown>;

/** Undefined for a line that is not a JSON object: agents print other things too. */
export function parseObject(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The objects of a file of JSON lines; a line that is still being written is left out. */
export const parseObjects = (text: string): JsonObject[] =>
  text
    .split('\n')
    .map(parseObject)
    .filter((each) => each !== undefined);

export const toLines = (objects: unknown[]): string =>
  objects.map((each) => `${JSON.stringify(each)}\n`).join('');

/** The value where it is an object, else an empty one. */
export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

export const objectsOf = (value: unknown): JsonObject[] =>
  Array.isArray(value) ? (value as unknown[]).filter(isObject) : [];

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** 0 for what is no number. */
export const numberOf = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : 0;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
