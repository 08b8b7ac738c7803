/** How an agent goes to work: does it, plans it first, or hands parts of it to other agents. */
export const RUN_MODES = ['normal', 'plan', 'orchestrate'] as const;
export type RunMode = (typeof RUN_MODES)[number];
