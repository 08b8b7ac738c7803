/** Where in a JSON value something is: names of fields and numbers of elements, from the outside in. */
export type FieldPath = readonly (string | number)[];

const PLAIN_NAME = /^[A-Za-z0-9_$-]+$/;

/** What the whole value is called, of which no field is meant. */
const ROOT = '$';

/** The path as people write it: `pull_request.labels[0].name`, with other names quoted: `labels["good first issue"]`. */
export function formatPath(path: FieldPath): string {
  if (path.length === 0) return ROOT;
  return path.map((part, index) => formatPart(part, index === 0)).join('');
}

function formatPart(part: string | number, isFirst: boolean): string {
  if (typeof part === 'number') return `[${part}]`;
  if (!PLAIN_NAME.test(part)) return `[${JSON.stringify(part)}]`;
  return isFirst ? part : `.${part}`;
}
