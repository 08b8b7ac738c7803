const MAX_LENGTH = 100;

/** A title for a run that was given none: the first line of the prompt that says something, shortened. */
export function deriveTitle(prompt: string): string {
  const line =
    prompt
      .split('\n')
      .map(plainText)
      .find((text) => text !== '') ?? 'Untitled run';
  const characters = Array.from(line);
  return characters.length <= MAX_LENGTH
    ? line
    : `${characters
        .slice(0, MAX_LENGTH - 1)
        .join('')
        .trimEnd()}…`;
}

/** Without the marks of a Markdown heading, list item, quote or fence. */
const plainText = (line: string): string =>
  line.replace(/^\s*(#{1,6}\s+|[-*+]\s+|>\s*|(`{3,}|~{3,}).*$)/, '').trim();
