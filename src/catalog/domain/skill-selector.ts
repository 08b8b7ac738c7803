import { parseRepository, type SkillRepository } from './skill-repository.js';

/** Where to look for a skill, and by what: the path of its SKILL.md, or its name. */
export interface SkillSelector {
  in: { repository: SkillRepository } | { repositoryNamed: string } | 'anywhere';
  by: { path: string } | { name: string };
}

const MAX_SPEC = 4096;

/**
 * Reads `owner/repo:path/SKILL.md`, `owner/repo:name`, `repo:path/SKILL.md`, `repo:name` or `name`.
 *
 * @returns undefined for what has none of these forms
 */
export function parseSkillSelector(spec: string): SkillSelector | undefined {
  if (spec.length > MAX_SPEC) return undefined;
  const colon = spec.indexOf(':');
  const wanted = spec.slice(colon + 1);
  if (wanted === '') return undefined;
  const by = isSkillPath(wanted) ? { path: wanted } : { name: wanted };
  if (colon === -1) return 'path' in by ? undefined : { in: 'anywhere', by };
  const place = spec.slice(0, colon);
  if (!place.includes('/')) return place === '' ? undefined : { in: { repositoryNamed: place }, by };
  const repository = parseRepository(place);
  return repository === undefined ? undefined : { in: { repository }, by };
}

/** Whether the path is that of a SKILL.md, at the root of a repository or below it. */
export const isSkillPath = (path: string): boolean => /(^|\/)SKILL\.md$/.test(path);

const MAX_COMPARED = 64;

/** The items whose names a person may have meant by `wanted`, the closest first: a few letters off, or one within the other. */
export function closest<T>(items: T[], nameOf: (item: T) => string, wanted: string, limit: number): T[] {
  const given = wanted.slice(0, MAX_COMPARED).toLowerCase();
  const tolerated = Math.max(2, Math.floor(given.length / 3));
  return items
    .map((item) => {
      const name = nameOf(item).slice(0, MAX_COMPARED).toLowerCase();
      const within = name.includes(given) || given.includes(name);
      return { item, distance: Math.min(editDistance(given, name), within ? tolerated : Infinity) };
    })
    .filter(({ distance }) => distance <= tolerated)
    .sort((a, b) => a.distance - b.distance)
    .slice(0, limit)
    .map(({ item }) => item);
}

/** Levenshtein's: insertions, deletions and replacements of one character. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
