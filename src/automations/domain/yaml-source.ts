import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument, visit } from 'yaml';
import type { FieldPath } from './field-path.js';

/** YAML that was read, and where in its file everything stands. Lines count from 1. */
export interface YamlSource {
  value: unknown;
  /** The line of what the path leads to or, where it leads nowhere, of the closest thing around it. */
  lineOf(path: FieldPath): number;
}

export interface YamlError {
  line: number;
  message: string;
}

export type YamlOutcome =
  { outcome: 'parsed'; source: YamlSource } | { outcome: 'invalid'; errors: YamlError[] };

/** An alias of an alias of an alias grows exponentially. */
const MAX_ALIASES = 100;

/** @param firstLine where in its file the text begins */
export function parseYaml(text: string, firstLine = 1): YamlOutcome {
  const lines = new LineCounter();
  const lineAt = (offset: number): number => lines.linePos(offset).line + firstLine - 1;
  // The parser compares every key of a mapping with every other, which takes the square of their number; duplicates are found below.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const errors: YamlError[] = document.errors.map(({ pos, message }) => ({ line: lineAt(pos[0]), message }));
  visit(document, {
    Map(_, map) {
      const names = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key)) continue;
        if (names.has(key.value)) {
          errors.push({
            line: lineAt(key.range?.[0] ?? 0),
            message: `The key ${String(key.value)} is there twice`,
          });
        }
        names.add(key.value);
      }
    },
  });
  if (errors.length > 0) return { outcome: 'invalid', errors };
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return { outcome: 'parsed', source: { value, lineOf: (path) => lineAt(offsetOf(path)) } };
  } catch (error) {
    // An alias without its anchor, or too many of them.
    return {
      outcome: 'invalid',
      errors: [{ line: firstLine, message: error instanceof Error ? error.message : String(error) }],
    };
  }

  function offsetOf(path: FieldPath): number {
    let node: Node | null | undefined = document.contents;
    let offset = node?.range?.[0] ?? 0;
    for (const part of path) {
      if (isAlias(node)) node = node.resolve(document);
      if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
        if (pair === undefined) break;
        offset = (pair.key as Node).range?.[0] ?? offset;
        node = pair.value as Node | null;
      } else if (isSeq(node)) {
        const item = node.items[Number(part)] as Node | undefined;
        if (item === undefined) break;
        offset = item.range?.[0] ?? offset;
        node = item;
      } else {
        break;
      }
    }
    return offset;
  }
}
