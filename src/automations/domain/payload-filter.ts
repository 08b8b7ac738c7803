import { isStorableText } from '../../kernel/storable-text.js';
import { type FieldPath, formatPath } from './field-path.js';

/**
 * Payload filters: which deliveries start a run.
 *
 * A filter is a JSON object that mirrors the payload; every key must match. Its value is one of
 * - a list of scalars: the field holds one of them (short for `in`);
 * - an operator object: of `in`, `not_in` (lists of scalars) and `exists` (true or false), all that are present must hold;
 * - a nested object: a filter on what the field holds.
 *
 * Scalars are equal when their JSON type and value are: `1` is `1.0` and is not `"1"`. Where the field is missing, or its path runs
 * through something that is not an object, `in` and `not_in` fail and `exists: false` holds. Where it holds an array, `in` wants any
 * element to be listed, `not_in` wants none to be, and a nested object wants one and the same element to satisfy all of it. A payload
 * that is an array is tried element by element. The empty filter matches everything.
 *
 * The operators stand in the filter alone; nothing that a payload holds is ever read as one.
 */
export interface CompiledFilter {
  /** What can fail: the conditions, and the nested objects, of which no element of an array may satisfy all. */
  readonly failurePoints: readonly FailurePoint[];
  /** The number of the first failure point that the payload fails at; {@link MATCHED} when it matches. */
  firstFailure(payload: unknown): number;
}

export interface FailurePoint {
  /** Such as `pull_request.head.ref`; `$` is the payload itself. */
  path: string;
  /** What the field must hold, such as `must be one of ["opened"]`. */
  rule: string;
}

export const MATCHED = -1;

/** A rule that a filter breaks. */
export interface FilterError {
  /** Where in the filter, such as `['pull_request', 'head', 'ref', 'in', 0]`. */
  path: FieldPath;
  message: string;
}

export type CompileOutcome =
  { outcome: 'compiled'; filter: CompiledFilter } | { outcome: 'invalid'; errors: FilterError[] };

export const MAX_DEPTH = 10;
export const MAX_CONDITIONS = 50;
export const MAX_LIST = 100;
export const MAX_VALUE_BYTES = 1024;
export const MAX_FILTER_BYTES = 16 * 1024;
/** Of one filter; there may be more. */
const MAX_ERRORS = 20;

/** Compiles a filter, or says what is wrong with it. */
export function compileFilter(filter: unknown): CompileOutcome {
  if (!isObject(filter)) {
    return { outcome: 'invalid', errors: [{ path: [], message: 'must be an object' }] };
  }
  const compiler = new Compiler();
  const matches = compiler.compile(filter);
  // Only now: a filter that is nested without end would exhaust the stack of the serialisation.
  if (compiler.errors.length === 0 && Buffer.byteLength(JSON.stringify(filter)) > MAX_FILTER_BYTES) {
    compiler.refuse([], `must be at most ${MAX_FILTER_BYTES / 1024} KB of JSON`);
  }
  if (compiler.errors.length > 0) return { outcome: 'invalid', errors: compiler.errors.slice(0, MAX_ERRORS) };
  return {
    outcome: 'compiled',
    filter: { failurePoints: compiler.failurePoints, firstFailure: matches },
  };
}

/** Of the payload, in the place of a field that it has not. */
const MISSING = Symbol('missing');

const NOTHING: Record<string, unknown> = {};

/** @returns the number of the failure point at which the value fails, or {@link MATCHED} */
type Check = (value: unknown) => number;

const OPERATORS = ['in', 'not_in', 'exists'] as const;

class Compiler {
  readonly errors: FilterError[] = [];
  readonly failurePoints: FailurePoint[] = [];
  private conditions = 0;

  compile(filter: Record<string, unknown>): Check {
    // The empty one matches even an array without elements.
    return Object.keys(filter).length === 0 ? () => MATCHED : this.fields(filter, []);
  }

  refuse(path: FieldPath, message: string): void {
    this.errors.push({ path, message });
  }

  /** All fields of a filter object. */
  private fields(filter: Record<string, unknown>, path: FieldPath): Check {
    const noElement = this.failurePoint(path, 'must have an element that satisfies all conditions below');
    const checks = Object.entries(filter).map(([name, value]) => {
      if (!isStorableText(name)) this.refuse(path, 'has a key that is not valid Unicode without NUL');
      return { name, check: this.field(value, [...path, name]) };
    });
    const check: Check = (value) => {
      if (Array.isArray(value)) {
        return value.some((element) => check(element) === MATCHED) ? MATCHED : noElement;
      }
      const holder = isObject(value) ? value : NOTHING;
      for (const field of checks) {
        const failure = field.check(Object.hasOwn(holder, field.name) ? holder[field.name] : MISSING);
        if (failure !== MATCHED) return failure;
      }
      return MATCHED;
    };
    return check;
  }

  private field(value: unknown, path: FieldPath): Check {
    if (path.length > MAX_DEPTH) {
      return this.invalid(path, `must not be nested deeper than ${MAX_DEPTH} levels`);
    }
    if (Array.isArray(value)) return this.oneOf(this.list(value, path), path);
    if (!isObject(value)) {
      return this.invalid(path, 'must be a list of values, an object of operators or a nested object');
    }
    const keys = Object.keys(value);
    if (keys.length === 0) return this.invalid(path, 'must not be empty');
    const operators = keys.filter(isOperator);
    if (operators.length === 0) return this.fields(value, path);
    if (operators.length < keys.length) {
      return this.invalid(path, `must not mix ${operators.join(', ')} with other keys`);
    }
    const checks = operators.map((operator) => this.operator(operator, value[operator], path));
    return (held) => {
      for (const check of checks) {
        const failure = check(held);
        if (failure !== MATCHED) return failure;
      }
      return MATCHED;
    };
  }

  private operator(operator: (typeof OPERATORS)[number], value: unknown, path: FieldPath): Check {
    const operatorPath = [...path, operator];
    switch (operator) {
      case 'exists':
        if (typeof value !== 'boolean') return this.invalid(operatorPath, 'must be true or false');
        return this.exists(value, path);
      case 'in':
      case 'not_in': {
        if (!Array.isArray(value)) return this.invalid(operatorPath, 'must be a list of values');
        const values = this.list(value, operatorPath);
        return operator === 'in' ? this.oneOf(values, path) : this.noneOf(values, path);
      }
    }
  }

  private oneOf(values: ReadonlySet<unknown>, path: FieldPath): Check {
    const point = this.condition(path, `must be one of ${listed(values)}`);
    const isListed = (value: unknown): boolean => values.has(value);
    return (value) => ((Array.isArray(value) ? value.some(isListed) : isListed(value)) ? MATCHED : point);
  }

  private noneOf(values: ReadonlySet<unknown>, path: FieldPath): Check {
    const point = this.condition(path, `must be there and none of ${listed(values)}`);
    const isListed = (value: unknown): boolean => values.has(value);
    return (value) =>
      value === MISSING || (Array.isArray(value) ? value.some(isListed) : isListed(value)) ? point : MATCHED;
  }

  private exists(wanted: boolean, path: FieldPath): Check {
    const point = this.condition(path, wanted ? 'must be there' : 'must not be there');
    return (value) => ((value !== MISSING) === wanted ? MATCHED : point);
  }

  /** @returns what of it can be in a filter */
  private list(values: unknown[], path: FieldPath): ReadonlySet<unknown> {
    if (values.length === 0) this.refuse(path, 'must not be an empty list');
    if (values.length > MAX_LIST) this.refuse(path, `must have at most ${MAX_LIST} values`);
    for (const [index, value] of values.entries()) {
      const message = complaintAbout(value);
      if (message !== undefined) this.refuse([...path, index], message);
    }
    return new Set(values.filter(isScalar));
  }

  private condition(path: FieldPath, rule: string): number {
    this.conditions += 1;
    if (this.conditions === MAX_CONDITIONS + 1) {
      this.refuse([], `must have at most ${MAX_CONDITIONS} conditions`);
    }
    return this.failurePoint(path, rule);
  }

  private failurePoint(path: FieldPath, rule: string): number {
    return this.failurePoints.push({ path: formatPath(path), rule }) - 1;
  }

  private invalid(path: FieldPath, message: string): Check {
    this.refuse(path, message);
    return () => MATCHED;
  }
}

function complaintAbout(value: unknown): string | undefined {
  if (!isScalar(value)) return 'must be text, a number, true, false or null';
  if (typeof value === 'number' && !Number.isFinite(value)) return 'must be a number that JSON can hold';
  // Beyond it several integers are read as one, which would be equal then.
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return `must not be an integer beyond ${Number.MAX_SAFE_INTEGER}: larger ones are not told apart`;
  }
  if (typeof value !== 'string') return undefined;
  if (!isStorableText(value)) return 'must be valid Unicode without NUL';
  return Buffer.byteLength(value) > MAX_VALUE_BYTES ? `must be at most ${MAX_VALUE_BYTES} bytes` : undefined;
}

const MAX_LISTED_CHARACTERS = 200;

/** The values as JSON, shortened. */
function listed(values: ReadonlySet<unknown>): string {
  const text = JSON.stringify([...values]);
  return text.length <= MAX_LISTED_CHARACTERS
    ? text
    : `${text.slice(0, MAX_LISTED_CHARACTERS).toWellFormed()}…`;
}

const isScalar = (value: unknown): boolean =>
  value === null || ['string', 'number', 'boolean'].includes(typeof value);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isOperator = (key: string): key is (typeof OPERATORS)[number] =>
  (OPERATORS as readonly string[]).includes(key);
