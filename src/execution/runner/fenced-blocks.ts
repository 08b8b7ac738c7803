export interface FencedBlock {
  /** First word of the info string, as written; empty when there is none. */
  language: string;
  /** The content, each of its lines ended by a line feed. */
  text: string;
}

interface Fence {
  character: '`' | '~';
  length: number;
  indentation: number;
  language: string;
  lines: string[];
}

const OPENING = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)$/;

/**
 * The fenced code blocks of a Markdown text, in order, by the rules of CommonMark 0.31 (4.5): three or more backticks or
 * tildes, at most three spaces before them; ended by a fence of the same character that is at least as long, or by the
 * end of the text. What stands in an HTML comment (4.6, kind 2) is not a block.
 *
 * Only the top level of the document is read: a fence behind a quote mark, on the line of a list marker or indented by
 * four columns or more opens nothing, and escapes and entities in info strings are taken literally.
 */
export function fencedBlocks(markdown: string): FencedBlock[] {
  const blocks: FencedBlock[] = [];
  let fence: Fence | undefined;
  let inComment = false;

  for (const line of markdown.split(/\r\n|\n|\r/)) {
    if (fence !== undefined) {
      if (closes(line, fence)) {
        blocks.push(toBlock(fence));
        fence = undefined;
      } else {
        fence.lines.push(withoutIndentation(line, fence.indentation));
      }
    } else if (inComment || /^ {0,3}<!--/.test(line)) {
      inComment = !line.includes('-->');
    } else {
      fence = opened(line);
    }
  }

  if (fence !== undefined) {
    // The end of the text is not one more empty line of the block.
    if (fence.lines.at(-1) === '') fence.lines.pop();
    blocks.push(toBlock(fence));
  }
  return blocks;
}

function opened(line: string): Fence | undefined {
  const [, indentation, marks, info] = OPENING.exec(line) ?? [];
  if (indentation === undefined || marks === undefined || info === undefined) return undefined;
  return {
    character: marks.startsWith('`') ? '`' : '~',
    length: marks.length,
    indentation: indentation.length,
    language: /[^ \t]+/.exec(info)?.[0] ?? '',
    lines: [],
  };
}

function closes(line: string, { character, length }: Fence): boolean {
  const marks = /^ {0,3}(`+|~+)[ \t]*$/.exec(line)?.[1];
  return marks !== undefined && marks.startsWith(character) && marks.length >= length;
}

function withoutIndentation(line: string, width: number): string {
  let spaces = 0;
  while (spaces < width && line[spaces] === ' ') spaces += 1;
  return line.slice(spaces);
}

function toBlock({ language, lines }: Fence): FencedBlock {
  return { language, text: lines.map((line) => `${line}\n`).join('') };
}
