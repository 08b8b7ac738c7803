import type { OrphanObjects } from '../answers.js';
import { oneLine } from './layout.js';

/** A line for each object, without a heading: there may be further pages. */
export const orphansText = ({ objects }: OrphanObjects): string =>
  objects
    .map(({ key, size_bytes: bytes, modified_at: at }) => `${oneLine(at)}  ${String(bytes)}  ${oneLine(key)}`)
    .join('\n');
