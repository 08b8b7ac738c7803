import type { Scorer, ScorerSettings } from '../../scores/index.js';
import type { ScorerFile } from './definition.js';

/** @param agentUids of the agents that the file names */
export const scorerSettingsOf = (file: ScorerFile, agentUids: string[]): ScorerSettings => ({
  name: file.name,
  rubric: file.prompt,
  agentUids,
  labels: file.labels,
  passingScore: file.passing_score,
  samplingRate: file.sampling_rate,
  modelId: file.model_id,
  harness: file.harness,
});

/** @param agents what the file calls the agents */
export const scorerFileOf = (scorer: Scorer, agents: string[]): ScorerFile => ({
  name: scorer.name,
  prompt: scorer.rubric,
  agents,
  labels: scorer.labels,
  passing_score: scorer.passingScore,
  sampling_rate: scorer.samplingRate,
  model_id: scorer.modelId,
  harness: scorer.harness,
});
