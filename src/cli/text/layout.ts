import { stripVTControlCharacters } from 'node:util';

const GAP = '  ';

/** Text that cannot command the terminal: without escape sequences and control characters but line breaks and tabs. */
export const printable = (text: string): string =>
  stripVTControlCharacters(text.replaceAll('\r\n', '\n')).replace(/[^\P{Cc}\n\t]/gu, '');

/** Printable text on one line, cut to a length in characters. */
export function oneLine(text: string, maxCharacters = Infinity): string {
  const characters = Array.from(printable(text).replace(/\s+/g, ' ').trim());
  if (characters.length <= maxCharacters) return characters.join('');
  return `${characters.slice(0, maxCharacters - 1).join('')}…`;
}

/** Lines of aligned columns below a heading; undefined is shown as a dash. */
export function table(heading: string[], rows: (string | undefined)[][]): string {
  const lines = [
    heading,
    ...rows.map((row) => row.map((cell) => (cell === undefined ? '-' : oneLine(cell)))),
  ];
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => lengthOf(line[column]))));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - lengthOf(cell)))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

/** A line for each field that has a value: its name, aligned, and the value. */
export function fields(values: Record<string, string | null | undefined>): string {
  const present = Object.entries(values).flatMap(([name, value]) => (value ? [[name, oneLine(value)]] : []));
  const width = Math.max(0, ...present.map(([name]) => lengthOf(name)));
  return present.map(([name = '', value = '']) => name.padEnd(width) + GAP + value).join('\n');
}

const lengthOf = (text = ''): number => Array.from(text).length;
