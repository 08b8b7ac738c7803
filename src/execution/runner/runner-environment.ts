import type { Addresses } from './command-line.js';
import { PROCESS_MARK } from './process-mark.js';

/** What the worker tells the runner through its environment. */
export interface RunnerEnvironment {
  /** Root of the control plane, ending with a slash: calls go to `v1/…` below it. */
  rootUrl: URL;
  runId: string;
  /** The run's own API key. */
  apiKey: string;
  /** Proves that the caller is this execution of the run, and no earlier one. */
  workloadToken: string;
}

/** Names the variable that is wrong, never its value. */
export class RunnerEnvironmentError extends Error {}

/** The environment of the agent's commands: the runner's own, and what was set up for the run, its secrets among it. */
export function agentEnvironment(added: Record<string, string>): NodeJS.ProcessEnv {
  return { ...process.env, ...added, [PROCESS_MARK.name]: PROCESS_MARK.value };
}

/**
 * This file is the runner's only reader of `process.env`.
 *
 * @param addresses what was given as arguments instead
 */
export function readRunnerEnvironment(
  environment: NodeJS.ProcessEnv = process.env,
  { rootUrl, runId }: Addresses = {},
): RunnerEnvironment {
  const source = {
    ...environment,
    ...(rootUrl !== undefined && { WARP_SERVER_ROOT_URL: rootUrl }),
    ...(runId !== undefined && { OZ_RUN_ID: runId }),
  };
  return {
    rootUrl: httpUrl(source, 'WARP_SERVER_ROOT_URL'),
    runId: required(source, 'OZ_RUN_ID'),
    apiKey: required(source, 'WARP_API_KEY'),
    workloadToken: required(source, 'WARP_WORKLOAD_TOKEN'),
  };
}

function required(source: NodeJS.ProcessEnv, name: string): string {
  const value = source[name];
  if (!value) throw new RunnerEnvironmentError(`The environment variable ${name} is not set.`);
  return value;
}

function httpUrl(source: NodeJS.ProcessEnv, name: string): URL {
  const text = required(source, name);
  if (!/^https?:/.test(text) || !URL.canParse(text)) {
    throw new RunnerEnvironmentError(`The environment variable ${name} is not an http or https URL.`);
  }
  return new URL(text.endsWith('/') ? text : `${text}/`);
}
