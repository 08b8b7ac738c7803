/** Where in a JSON value something is: names of fields, from the outside in. */
export type FieldPath = readonly string[];

const PLAIN_NAME = /^[A-Za-z0-9_$-]+$/;

/** What the whole value is called, of which no field is meant. */
const ROOT = '$';

/** The path as people write it: `pull_request.head.ref`, with other names quoted: `labels["good first issue"]`. */
export function formatPath(path: FieldPath): string {
  if (path.length === 0) return ROOT;
  return path
    .map((name, index) =>
      PLAIN_NAME.test(name) ? (index === 0 ? name : `.${name}`) : `[${JSON.stringify(name)}]`,
    )
    .join('');
}
