import { z } from 'zod';
import type { TaskAssignment, TaskCancellation } from '../protocol/worker-messages.js';

/** The part of an assignment that this worker acts on; its runner fetches the rest by itself. */
export type LaunchOrder = Pick<TaskAssignment, 'task_id' | 'execution_id' | 'env_vars'>;

export type ParsedServerMessage =
  | { kind: 'assignment'; order: LaunchOrder }
  | { kind: 'cancellation'; cancellation: TaskCancellation }
  /** A type that this worker does not know, from a newer server. */
  | { kind: 'unknown'; type: string }
  /** `problem` quotes no value: an assignment carries secrets. */
  | { kind: 'unreadable'; problem: string };

/** Ids become names of directories. */
const pathSafeId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'not a path-safe id');

const envelope = z.object({ type: z.string(), data: z.unknown() });

const assignment = z.object({
  task_id: pathSafeId,
  execution_id: pathSafeId,
  env_vars: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().regex(/^[^\0]*$/)).default({}),
});

const cancellation = z.object({ task_id: z.string(), execution_id: z.string().optional() });

export function parseServerMessage(text: string): ParsedServerMessage {
  const message = envelope.safeParse(parseJson(text));
  if (!message.success) return { kind: 'unreadable', problem: problemOf(message.error) };
  const { type, data } = message.data;
  switch (type) {
    case 'task_assignment': {
      const parsed = assignment.safeParse(data);
      if (!parsed.success) return { kind: 'unreadable', problem: problemOf(parsed.error) };
      return { kind: 'assignment', order: parsed.data };
    }
    case 'task_cancellation': {
      const parsed = cancellation.safeParse(data);
      if (!parsed.success) return { kind: 'unreadable', problem: problemOf(parsed.error) };
      return { kind: 'cancellation', cancellation: parsed.data };
    }
    default:
      return { kind: 'unknown', type };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function problemOf(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.') || 'message'}: ${issue.code}`).join('; ');
}
