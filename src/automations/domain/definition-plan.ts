import type { DefinitionError } from './definition.js';

/** What applying a definition changes. An agent that the definition has no more is disabled, all else is deleted. */
export interface DefinitionStep {
  action: 'create' | 'update' | 'delete' | 'disable';
  kind: 'factory' | 'agent' | 'webhook' | 'automation' | 'scorer';
  name: string;
}

/** What becomes of a definition that is applied. */
export type DefinitionOutcome =
  /** The warnings are about what may stay as it is, such as a webhook that was deleted. */
  | { outcome: 'applied'; plan: DefinitionStep[]; warnings: DefinitionError[] }
  /** Something that the files name is not there. The transaction is to be undone. */
  | { outcome: 'refused'; errors: DefinitionError[] };
