/** What can run a model; `oz` is the built-in harness. */
export const MODEL_HARNESSES = ['oz', 'claude', 'codex', 'gemini'] as const;
export type ModelHarness = (typeof MODEL_HARNESSES)[number];

/** Whose model it is. */
export const MODEL_PROVIDERS = ['OPENAI', 'ANTHROPIC', 'GOOGLE', 'UNKNOWN'] as const;
export type ModelProvider = (typeof MODEL_PROVIDERS)[number];

/** Why a model is listed and cannot be used. */
export const DISABLE_REASONS = [
  'PROVIDER_OUTAGE',
  'OUT_OF_REQUESTS',
  'ADMIN_DISABLED',
  'REQUIRES_UPGRADE',
] as const;
export type DisableReason = (typeof DISABLE_REASONS)[number];

/** A model that runs may name, as its catalogue describes it. */
export interface Model {
  /** As the provider's API calls it. */
  id: string;
  display_name: string;
  provider: ModelProvider;
  /** What can run it: one or more. */
  harness: ModelHarness[];
  /** Whether it takes images. */
  vision_supported: boolean;
  description?: string;
  reasoning_level?: string;
  cost?: { input_usd_per_million_tokens: number; output_usd_per_million_tokens: number };
  /** Set on a model that is not to be used. */
  disabled?: DisableReason;
}

/** The models in their order; `default` is one of them and is not disabled. */
export interface ModelCatalogue {
  default: string;
  models: Model[];
}

/** Executes the fenced bash blocks of the prompt; needs no network and no key. Every catalogue has it. */
export const SCRIPT: Model = {
  id: 'script',
  display_name: 'Script',
  provider: 'UNKNOWN',
  harness: ['oz'],
  vision_supported: false,
  description: 'Executes the bash blocks of the prompt; needs no network and no key.',
};
