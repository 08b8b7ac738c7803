import type { HarnessType } from './agent-config.js';

/** The format in which the agents of each harness write their transcripts: a conversation stays in one. */
export const TRANSCRIPT_FORMATS_BY_HARNESS: Readonly<Record<HarnessType, string>> = {
  oz: 'millwright_script',
  claude: 'claude_code_cli',
  gemini: 'gemini_cli',
  codex: 'codex_cli',
};

/** A conversation in the form that clients read, whichever agent produced it. */
export interface Conversation {
  conversation_id: string;
  steps: Step[];
}

/** One turn: a prompt or follow-up and what came of it; a sub-agent's work is a nested step. */
export interface Step {
  id: string;
  description?: string;
  summary?: string;
  started_at?: string;
  completed_at?: string;
  messages: Message[];
  steps: Step[];
}

export interface Message {
  role: 'user' | 'assistant' | 'tool' | 'system';
  content: Block[];
  message_ids?: string[];
  request_id?: string;
  timestamp?: string;
}

export type ActionCategory =
  'command' | 'files' | 'search' | 'integration' | 'documents' | 'computer' | 'review' | 'skill';

export type Block =
  | { type: 'text'; text: string; message_id?: string }
  | {
      type: 'action';
      id: string;
      category: ActionCategory;
      name: string;
      input: Record<string, unknown>;
      message_id?: string;
    }
  | {
      type: 'action_result';
      action_id: string;
      category: ActionCategory;
      name: string;
      state: 'running' | 'completed' | 'failed' | 'denied';
      output: Record<string, unknown>;
      message_id?: string;
    }
  | { type: 'event'; name: string; data: Record<string, unknown>; message_id?: string };
