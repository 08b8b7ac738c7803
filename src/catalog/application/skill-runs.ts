/** Whose runs count: those of the team and those of the person. */
export interface SkillRunsScope {
  teamUid: string | null;
  ownerUid: string | null;
}

/** What the catalogue shows of runs beside a skill. A port of the catalogue, which runs implements: runs imports the catalogue, never the reverse. */
export abstract class SkillRuns {
  /**
   * When each skill was last run, one query for all of them; skills without a run are absent from the answer.
   *
   * @param skillSpecs as `owner/repo:path/SKILL.md`
   */
  abstract lastRuns(skillSpecs: string[], scope: SkillRunsScope): Promise<Map<string, Date>>;
}
