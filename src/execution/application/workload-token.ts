import type { Keyring } from '../../kernel/security/keyring.js';

/** Proves, beside the run's key, that a caller is the agent of this very execution. */
export const workloadToken = (keyring: Keyring, executionId: number): string =>
  keyring.sign('workload-token', String(executionId));

export const isWorkloadToken = (keyring: Keyring, executionId: number, token: string): boolean =>
  keyring.verify('workload-token', String(executionId), token);
