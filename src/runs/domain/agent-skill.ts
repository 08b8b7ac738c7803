/** The skill that a run was created from, as it was resolved then. */
export interface AgentSkill {
  name: string;
  description: string;
  /** From the root of its repository, with the file's name. */
  full_path: string;
}
