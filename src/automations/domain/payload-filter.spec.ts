import { describe, expect, it } from '@jest/globals';
import { formatPath } from './field-path.js';
import { compileFilter, MATCHED } from './payload-filter.js';

const failedPath = (filter: unknown, payload: unknown): string | undefined => {
  const compiled = compileFilter(filter);
  if (compiled.outcome === 'invalid') throw new Error(JSON.stringify(compiled.errors));
  const failure = compiled.filter.firstFailure(payload);
  return failure === MATCHED ? undefined : compiled.filter.failurePoints[failure]!.path;
};
const errorsOf = (filter: unknown): string[] => {
  const compiled = compileFilter(filter);
  return compiled.outcome === 'compiled'
    ? []
    : compiled.errors.map(({ path, message }) => `${formatPath(path)}: ${message}`);
};

const INEXACT = 'must not be an integer beyond 9007199254740991: larger ones are not told apart';

/** A payload as it arrives, so that `__proto__` is a key like any other. */
const json = (text: string): unknown => JSON.parse(text) as unknown;

describe('a payload filter', () => {
  describe.each<[rule: string, cases: [filter: unknown, payload: unknown, failedAt: string | undefined][]]>([
    [
      'wants every key to match',
      [
        [{ a: [1], b: [2] }, { a: 1, b: 2, c: 3 }, undefined],
        [{ a: [1], b: [2] }, { a: 1, b: 3 }, 'b'],
        [{ a: { b: [1] }, c: { d: [1] } }, { a: { b: 1 }, c: { d: 2 } }, 'c.d'],
      ],
    ],
    [
      'lets a list name what the field may hold',
      [
        [{ action: ['opened', 'reopened'] }, { action: 'reopened' }, undefined],
        [{ action: ['opened', 'reopened'] }, { action: 'closed' }, 'action'],
        [{ action: { in: ['opened'] } }, { action: 'opened' }, undefined],
        [{ action: { in: ['opened'] } }, { action: 'closed' }, 'action'],
      ],
    ],
    [
      'wants all operators of a field to hold',
      [
        [{ a: { in: [1, 2], not_in: [2] } }, { a: 1 }, undefined],
        [{ a: { in: [1, 2], not_in: [2] } }, { a: 2 }, 'a'],
        [{ a: { exists: true, not_in: [2] } }, { a: null }, undefined],
        [{ a: { exists: false, not_in: [2] } }, {}, 'a'],
      ],
    ],
    [
      'compares scalars by JSON type and value',
      [
        [{ a: json('[1]') }, json('{"a": 1.0}'), undefined],
        [{ a: json('[1e2]') }, { a: 100 }, undefined],
        [{ a: [0] }, json('{"a": -0}'), undefined],
        [{ a: [1] }, { a: '1' }, 'a'],
        [{ a: ['true'] }, { a: true }, 'a'],
        [{ a: [0] }, { a: false }, 'a'],
        [{ a: [''] }, { a: null }, 'a'],
        [{ a: ['Main'] }, { a: 'main' }, 'a'],
      ],
    ],
    [
      'has null equal only null',
      [
        [{ a: [null] }, { a: null }, undefined],
        [{ a: [null] }, {}, 'a'],
        [{ a: [null] }, { a: 0 }, 'a'],
        [{ a: { not_in: [null] } }, { a: null }, 'a'],
        [{ a: { not_in: [null] } }, { a: 'null' }, undefined],
      ],
    ],
    [
      'judges a missing key',
      [
        [{ a: [1] }, {}, 'a'],
        [{ a: { not_in: [1] } }, {}, 'a'],
        [{ a: { exists: false } }, {}, undefined],
        [{ a: { exists: true } }, { b: 1 }, 'a'],
        [{ a: { b: [1] } }, {}, 'a.b'],
        [{ a: { b: { not_in: [1] } } }, {}, 'a.b'],
        [{ a: { b: { exists: false } } }, {}, undefined],
      ],
    ],
    [
      'judges a path through something that is not an object like a missing key',
      [
        [{ a: { b: [1] } }, { a: 'b' }, 'a.b'],
        [{ a: { b: { not_in: [1] } } }, { a: null }, 'a.b'],
        [{ a: { b: { exists: false } } }, { a: 7 }, undefined],
        [{ a: { b: { exists: false } } }, { a: null }, undefined],
        [{ a: { length: [1] } }, { a: 'x' }, 'a.length'],
      ],
    ],
    [
      'matches an array when any element is listed',
      [
        [{ labels: ['bug'] }, { labels: ['docs', 'bug'] }, undefined],
        [{ labels: ['bug'] }, { labels: ['docs'] }, 'labels'],
        [{ labels: ['bug'] }, { labels: [] }, 'labels'],
        [{ labels: { in: [null] } }, { labels: [1, null] }, undefined],
      ],
    ],
    [
      'wants no element of an array in not_in',
      [
        [{ labels: { not_in: ['wip'] } }, { labels: ['bug', 'wip'] }, 'labels'],
        [{ labels: { not_in: ['wip'] } }, { labels: ['bug'] }, undefined],
        [{ labels: { not_in: ['wip'] } }, { labels: [] }, undefined],
        [{ labels: { in: ['a'], not_in: ['b'] } }, { labels: ['a', 'b'] }, 'labels'],
      ],
    ],
    [
      'wants one and the same element of an array to satisfy a nested object',
      [
        [{ commits: { id: [1], ok: [true] } }, { commits: [{ id: 1, ok: true }] }, undefined],
        [{ commits: { id: [1], ok: [true] } }, { commits: [{ id: 1 }, { ok: true }] }, 'commits'],
        [{ commits: { id: [2] } }, { commits: [{ id: 1 }, 'x', { id: 2 }] }, undefined],
        [{ commits: { files: { name: ['a'] } } }, { commits: [{ files: [{ name: 'b' }] }] }, 'commits'],
        [
          { commits: { files: { name: ['a'] } } },
          { commits: [{}, { files: [{ name: 'b' }, { name: 'a' }] }] },
          undefined,
        ],
        [{ a: { b: [1] } }, { a: [[{ b: 1 }]] }, undefined],
      ],
    ],
    [
      'finds elements that are objects or arrays equal to no scalar',
      [
        [{ a: [1] }, { a: [[1]] }, 'a'],
        [{ a: ['x'] }, { a: [{ x: 'x' }] }, 'a'],
        [{ a: { not_in: [1] } }, { a: [[1], { a: 1 }] }, undefined],
        [{ a: { not_in: [1] } }, { a: { b: 1 } }, undefined],
        [{ a: [1] }, { a: { b: 1 } }, 'a'],
      ],
    ],
    [
      'asks with exists: true whether the key is there, whatever it holds',
      [
        [{ a: { exists: true } }, { a: null }, undefined],
        [{ a: { exists: true } }, { a: [] }, undefined],
        [{ a: { exists: true } }, { a: {} }, undefined],
        [{ a: { exists: true } }, { a: false }, undefined],
      ],
    ],
    [
      'has exists: false as the complement of exists: true',
      [
        [{ a: { exists: false } }, { a: null }, 'a'],
        [{ a: { exists: false } }, { a: [] }, 'a'],
        [{ a: { b: { exists: false } } }, { a: { b: 1 } }, 'a.b'],
        [{ a: { b: { exists: true } } }, { a: 1 }, 'a.b'],
      ],
    ],
    [
      'judges exists on the elements of an array, of which [] has none',
      [
        [{ a: { b: { exists: true } } }, { a: [{}, { b: 1 }] }, undefined],
        [{ a: { b: { exists: false } } }, { a: [{ b: 1 }, {}] }, undefined],
        [{ a: { b: { exists: false } } }, { a: [{ b: 1 }] }, 'a'],
        [{ a: { b: { exists: false } } }, { a: ['x'] }, undefined],
        [{ a: { b: { exists: false } } }, { a: [] }, 'a'],
        [{ a: { b: { exists: true } } }, { a: [] }, 'a'],
      ],
    ],
    [
      'tries a payload that is an array element by element',
      [
        [{ a: [1] }, [{ a: 2 }, { a: 1 }], undefined],
        [{ a: [1], b: [1] }, [{ a: 1 }, { b: 1 }], '$'],
        [{ a: { exists: false } }, [1], undefined],
        [{ a: { exists: false } }, [], '$'],
      ],
    ],
    [
      'judges a payload that is a scalar by the rules of a missing key',
      [
        [{ a: [1] }, 1, 'a'],
        [{ a: [null] }, null, 'a'],
        [{ a: { not_in: [1] } }, 'a', 'a'],
        [{ a: { exists: false } }, true, undefined],
        [{ a: { exists: false } }, null, undefined],
      ],
    ],
    [
      'tells integers apart up to 2^53 - 1',
      [
        [{ a: [9007199254740991] }, json('{"a": 9007199254740991}'), undefined],
        [{ a: [9007199254740991] }, json('{"a": 9007199254740992}'), 'a'],
        [{ a: [-9007199254740991] }, json('{"a": -9007199254740993}'), 'a'],
      ],
    ],
    [
      'counts own properties alone',
      [
        [{ toString: { exists: true } }, {}, 'toString'],
        [{ a: { constructor: { exists: false } } }, { a: {} }, undefined],
        [json('{"__proto__": {"exists": true}}'), {}, '__proto__'],
        [json('{"__proto__": {"x": [1]}}'), json('{"__proto__": {"x": 1}}'), undefined],
        [{ a: { x: [1] } }, { a: json('{"__proto__": {"x": 1}}') }, 'a.x'],
      ],
    ],
    [
      'reads operators from the filter alone',
      [
        [{ a: [1] }, { a: { in: [1] } }, 'a'],
        [{ a: { exists: true } }, { a: { exists: false } }, undefined],
        [{ in: [1] }, { in: 1 }, undefined],
        [{ exists: { exists: false } }, { exists: true }, 'exists'],
        [{ not_in: { not_in: [1] } }, { not_in: 2 }, undefined],
      ],
    ],
    [
      'matches every delivery when it is empty',
      [
        [{}, {}, undefined],
        [{}, null, undefined],
        [{}, [], undefined],
        [{}, 'text', undefined],
      ],
    ],
  ])('%s', (_, cases) => {
    it.each(cases)('%j on %j', (filter, payload, expected) => {
      expect(failedPath(filter, payload)).toBe(expected);
    });
  });

  describe.each<[rule: string, cases: [filter: unknown, errors: string[]][]]>([
    [
      'an empty list',
      [
        [{ a: [] }, ['a: must not be an empty list']],
        [{ a: { b: { not_in: [] } } }, ['a.b.not_in: must not be an empty list']],
      ],
    ],
    [
      'operators beside other keys',
      [
        [{ a: { in: [1], b: [1] } }, ['a: must not mix in with other keys']],
        [
          { a: { b: { exists: true, not_in: [1], c: [1] } } },
          ['a.b: must not mix exists, not_in with other keys'],
        ],
      ],
    ],
    [
      'an empty object in the place of operators',
      [
        [{ a: {} }, ['a: must not be empty']],
        [{ a: { 'b c': {} } }, ['a["b c"]: must not be empty']],
      ],
    ],
    [
      'a value that is no list, operator object or nested object',
      [
        [{ a: 'opened' }, ['a: must be a list of values, an object of operators or a nested object']],
        [{ exists: true }, ['exists: must be a list of values, an object of operators or a nested object']],
        [{ a: { b: null } }, ['a.b: must be a list of values, an object of operators or a nested object']],
        [{ a: [{ b: 1 }, 2] }, ['a[0]: must be text, a number, true, false or null']],
        [{ a: [1, [2]] }, ['a[1]: must be text, a number, true, false or null']],
        [{ a: { in: 1 } }, ['a.in: must be a list of values']],
        [{ a: { exists: 'yes' } }, ['a.exists: must be true or false']],
        [[], ['$: must be an object']],
        [null, ['$: must be an object']],
      ],
    ],
    [
      'what neither JSON nor the database can hold',
      [
        [{ a: json('[1e400]') }, ['a[0]: must be a number that JSON can hold']],
        [{ a: ['\0'] }, ['a[0]: must be valid Unicode without NUL']],
        [{ a: { in: ['\ud800'] } }, ['a.in[0]: must be valid Unicode without NUL']],
        [{ 'a\0': [1] }, ['$: has a key that is not valid Unicode without NUL']],
      ],
    ],
    [
      'an integer that is read as another one, too',
      [
        [json('{"a": [1, 9007199254740993]}'), [`a[1]: ${INEXACT}`]],
        [json('{"a": {"b": {"not_in": [-9007199254740992]}}}'), [`a.b.not_in[0]: ${INEXACT}`]],
        [{ a: [1e300] }, [`a[0]: ${INEXACT}`]],
      ],
    ],
  ])('is refused for %s', (_, cases) => {
    it.each(cases)('%j', (filter, errors) => {
      expect(errorsOf(filter)).toEqual(errors);
    });
  });

  const nested = (depth: number): object => (depth === 0 ? { in: [1] } : { a: nested(depth - 1) });
  const conditions = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (__, index) => [`key${index}`, [1]]));
  it.each<[limit: string, allowed: object, refused: object, error: string]>([
    ['10 levels', nested(10), nested(11), 'a.a.a.a.a.a.a.a.a.a.a: must not be nested deeper than 10 levels'],
    ['50 conditions', conditions(50), conditions(51), '$: must have at most 50 conditions'],
    [
      '50 conditions, each operator being one',
      { ...conditions(48), x: { in: [1], exists: true } },
      { ...conditions(49), x: { in: [1], exists: true } },
      '$: must have at most 50 conditions',
    ],
    [
      '100 values',
      { a: Array.from({ length: 100 }, (_, index) => index) },
      { a: Array.from({ length: 101 }, (_, index) => index) },
      'a: must have at most 100 values',
    ],
    [
      '1,024 bytes',
      { a: ['é'.repeat(512)] },
      { a: [`${'é'.repeat(512)}x`] },
      'a[0]: must be at most 1024 bytes',
    ],
    [
      '16 KB in all',
      { a: Array.from({ length: 16 }, (_, index) => `${index + 10}`.padEnd(1020, 'x')) },
      { a: Array.from({ length: 17 }, (_, index) => `${index + 10}`.padEnd(1020, 'x')) },
      '$: must be at most 16 KB of JSON',
    ],
  ])('has at most %s', (_, allowed, refused, error) => {
    expect(errorsOf(allowed)).toEqual([]);
    expect(errorsOf(refused)).toEqual([error]);
  });

  it('is refused, not compiled, when it is nested without end', () => {
    let endless: object = { a: [1] };
    for (let depth = 0; depth < 100_000; depth++) endless = { a: endless };
    expect(errorsOf(endless)).toEqual([expect.stringContaining('must not be nested deeper')]);
    expect(errorsOf({ list: [endless] })).toEqual([expect.stringContaining('must be text')]);
  });

  it('says what must hold where it fails', () => {
    const compiled = compileFilter({ a: { not_in: ['x'] }, b: { exists: true } });
    if (compiled.outcome === 'invalid') throw new Error('it is valid');
    const { filter } = compiled;
    const rules = [{ a: 'x' }, { a: 'y' }].map(
      (payload) => filter.failurePoints[filter.firstFailure(payload)]!.rule,
    );
    expect(rules).toEqual(['must be there and none of ["x"]', 'must be there']);
  });
});

describe('the compiled filter and a naive one', () => {
  it('agree on random filters and payloads', () => {
    const random = generator(20_261_121);
    let matches = 0;
    for (let round = 0; round < 4000; round++) {
      const filter = randomFilter(random, 3);
      const compiled = compileFilter(filter);
      if (compiled.outcome === 'invalid') throw new Error(JSON.stringify({ filter, ...compiled }));
      for (let n = 0; n < 10; n++) {
        const payload = randomValue(random, 4);
        const expected = naiveMatch(filter, payload);
        const matched = compiled.filter.firstFailure(payload) === MATCHED;
        if (matched !== expected) throw new Error(JSON.stringify({ filter, payload, expected }));
        if (matched) matches += 1;
      }
    }
    // Both answers are common, so that agreement means something.
    expect(matches).toBeGreaterThan(4000);
    expect(matches).toBeLessThan(36_000);
  });
});

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Filter = Record<string, Json>;

/** Straight from the rules: every value that the path can lead to is written out, and the conditions are asked of those. */
function naiveMatch(filter: Filter, payload: Json): boolean {
  if (JSON.stringify(filter) === '{}') return true;
  return elementsOf(payload).some((element) =>
    Object.entries(filter).every(([key, condition]) => {
      const isThere = isRecord(element) && Object.keys(element).includes(key);
      return naiveCondition(condition, isThere ? { value: element[key] as Json } : undefined);
    }),
  );
}

function naiveCondition(condition: Json, held: { value: Json } | undefined): boolean {
  if (Array.isArray(condition)) return naiveCondition({ in: condition }, held);
  if (!isRecord(condition)) throw new Error('no condition');
  const operators = Object.entries(condition).filter(([key]) => ['in', 'not_in', 'exists'].includes(key));
  if (operators.length === 0) return naiveMatch(condition, held === undefined ? '' : held.value);
  return operators.every(([operator, operand]) => {
    if (operator === 'exists') return (held !== undefined) === operand;
    if (held === undefined) return false;
    const texts = (Array.isArray(held.value) ? held.value : [held.value])
      .filter((value) => !isRecord(value) && !Array.isArray(value))
      .map((value) => JSON.stringify(value));
    const listed = (operand as Json[]).map((value) => JSON.stringify(value));
    const isAnyListed = texts.some((text) => listed.includes(text));
    return operator === 'in' ? isAnyListed : !isAnyListed;
  });
}

/** All that a nested object is to be tried on. */
const elementsOf = (value: Json): Json[] => (Array.isArray(value) ? value.flatMap(elementsOf) : [value]);

const isRecord = (value: Json): value is Record<string, Json> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Linear congruential (Numerical Recipes): the same numbers in every run. */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const KEYS = ['a', 'b', 'in', 'exists', '__proto__'];
const FILTER_KEYS = ['a', 'b', 'c', '__proto__'];
const SCALARS: Json[] = [null, true, false, 0, 1, 1.5, '', '1', 'x'];

const pick = <T>(random: (below: number) => number, values: readonly T[]): T =>
  values[random(values.length)]!;
const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

/** Unlike an assignment, this makes a key of its own of `__proto__`, too. */
const record = (entries: [string, Json][]): Record<string, Json> => Object.fromEntries(entries);

function randomValue(random: (below: number) => number, depth: number): Json {
  const kind = depth === 0 ? 0 : random(4);
  if (kind === 0) return pick(random, SCALARS);
  if (kind === 1) return times(random(3), () => randomValue(random, depth - 1));
  return record(times(random(4), () => [pick(random, KEYS), randomValue(random, depth - 1)]));
}

function randomFilter(random: (below: number) => number, depth: number): Filter {
  const keys = depth === 3 ? [...FILTER_KEYS, 'in', 'exists'] : FILTER_KEYS;
  const count = depth === 3 ? random(3) : 1 + random(2);
  return record(times(count, () => [pick(random, keys), randomCondition(random, depth - 1)]));
}

function randomCondition(random: (below: number) => number, depth: number): Json {
  const values = (): Json[] => times(1 + random(6), () => pick(random, SCALARS));
  switch (random(depth === 0 ? 5 : 7)) {
    case 0:
      return values();
    case 1:
      return { in: values() };
    case 2:
      return { not_in: values() };
    case 3:
      return { exists: random(2) === 0 };
    case 4:
      return { not_in: values(), exists: true };
    default:
      return randomFilter(random, depth);
  }
}
