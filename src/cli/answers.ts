/** The answers of the API, as far as they are shown as text. */

export interface Principal {
  type?: string;
  uid?: string;
  display_name?: string;
  email?: string;
}

export interface Scope {
  type: string;
  uid?: string;
}

export interface Me {
  principal: Principal;
  teams: { uid: string; name: string; role: string; permissions: string[] }[];
  active_team_uid?: string;
}

export interface Members {
  members: { user: Principal; role: string; permissions: string[]; created_at: string }[];
}

export interface CreatedRun {
  run_id: string;
  state: string;
}

export interface Run {
  run_id: string;
  title: string;
  state: string;
  created_at: string;
  updated_at: string;
  started_at?: string | null;
  run_time?: string;
  status_message?: { message: string; error_code?: string };
  source?: string;
  creator?: Principal;
  executor?: Principal;
  agent_config?: { model_id?: string; environment_id?: string; skill_spec?: string };
  conversation_id?: string;
  metadata?: Record<string, string>;
}

export interface RunList {
  runs: Run[];
  page_info: { has_next_page: boolean };
}

export interface Timeline {
  events: {
    execution_id?: number;
    event_type: string;
    occurred_at: string;
    payload?: Record<string, unknown>;
  }[];
}

export interface Conversation {
  steps: Step[];
}

export interface Step {
  messages: { role: string; content: Block[] }[];
  steps: Step[];
}

export type Block =
  | { type: 'text'; text: string }
  | { type: 'action'; name: string; input: Record<string, unknown> }
  | { type: 'action_result'; name: string; state: string; output: Record<string, unknown> }
  | { type: 'event'; name: string; data: Record<string, unknown> };

export interface ApiKey {
  uid: string;
  name: string;
  prefix: string;
  last_four: string;
  owner: Principal;
  created_at: string;
  expires_at?: string;
  last_used_at?: string;
}

export interface ApiKeys {
  api_keys: ApiKey[];
}

/** With the key itself, this once. */
export type CreatedApiKey = ApiKey & { key: string };

export interface Secret {
  name: string;
  scope: Scope;
  created_at: string;
  updated_at: string;
}

export interface Secrets {
  secrets: Secret[];
}

export interface OrphanObjects {
  objects: { key: string; size_bytes: number; modified_at: string }[];
  page_info: { has_next_page: boolean; next_cursor?: string };
}

export interface Environments {
  environments: {
    uid: string;
    config: { name?: string; github_repos?: { owner: string; repo: string }[] };
    last_updated: string;
    setup_failed: boolean;
  }[];
}

export interface Agents {
  agents: { uid: string; name: string; available: boolean; base_model?: string; environment_id?: string }[];
}

export interface Models {
  default_model_id: string;
  models: { id: string; display_name: string; provider: string; disable_reason?: string }[];
}

export interface Skills {
  agents: { name: string; variants: { id: string; description: string }[] }[];
}

export interface Factories {
  factories: { uid: string; name: string; mode: string }[];
}

export interface Webhooks {
  webhooks: { uid: string; name: string; ingress_url: string }[];
}

export interface AppliedDefinition {
  applied: boolean;
  plan: { action: string; kind: string; name: string }[];
  warnings?: { file: string; line: number; field: string; message: string }[];
}
