import type { ArtifactType } from '../../artifacts/index.js';
import type { RunSource } from './run-source.js';
import type { RunState } from './run-state.js';

export const RUN_SORTS = ['updated_at', 'created_at', 'title', 'agent'] as const;
export type RunSort = (typeof RUN_SORTS)[number];

export const SORT_ORDERS = ['asc', 'desc'] as const;
export type SortOrder = (typeof SORT_ORDERS)[number];

export const EXECUTION_LOCATIONS = ['LOCAL', 'REMOTE'] as const;
export type ExecutionLocation = (typeof EXECUTION_LOCATIONS)[number];

/** What asks for the runs without an environment, in the place of an environment's id. */
export const EMPTY_ENVIRONMENT = 'empty-environment';

export const MAX_METADATA_PAIRS = 5;

/** What the runs of a list have in common; a property that is undefined filters nothing. Bounds in time are exclusive. */
export interface RunFilter {
  /** Any of them; never empty, none twice. */
  states?: RunState[];
  name?: string;
  modelId?: string;
  creatorUid?: string;
  executorUid?: string;
  source?: RunSource;
  executionLocation?: ExecutionLocation;
  createdAfter?: Date;
  createdBefore?: Date;
  updatedAfter?: Date;
  /** null: runs that have none. */
  environmentId?: string | null;
  skillSpec?: string;
  scheduleId?: string;
  /** Its children, their children and so on. */
  ancestorRunId?: string;
  /** Pairs of a key and its value: all of them. */
  metadata?: [key: string, value: string][];
  artifactType?: ArtifactType;
  /** Words to look for in title, prompt and skill; never blank. */
  q?: string;
}

/** The order of a list. */
export interface RunOrder {
  sort: RunSort;
  order: SortOrder;
}

/** The same text for the same list, however its parameters were ordered or repeated: what a cursor is bound to. */
export function describeList(filter: RunFilter, { sort, order }: RunOrder): string {
  const canonical = Object.entries({
    ...filter,
    states: filter.states && [...filter.states].sort(),
    metadata: filter.metadata && [...filter.metadata].sort(([a], [b]) => (a < b ? -1 : 1)),
  })
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(['runs', sort, order, canonical]);
}
