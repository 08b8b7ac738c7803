import { z } from 'zod';
import { HARNESS_TYPES } from '../../identities/index.js';
import { isStorableText } from '../../kernel/storable-text.js';
import {
  complaintAboutLabels,
  DEFAULT_SAMPLING_RATE,
  MAX_AGENTS,
  MAX_LABELS,
  MIN_LABELS,
  type ScorerSettings,
} from './scorer.js';

const text = (maximum: number) =>
  z.string().max(maximum).refine(isStorableText, 'must be valid Unicode without NUL');
const share = z.number().min(0).max(1);

/** The front matter of `scorers/<name>/scorer.md`; what follows it is the rubric. */
export const scorerFileSchema = z
  .strictObject({
    agents: z
      .array(text(256).min(1))
      .min(1)
      .max(MAX_AGENTS)
      .meta({ description: 'Whose runs it grades: names below agents/, or uids of agents of the team' }),
    labels: z
      .array(z.strictObject({ value: text(64).min(1), score: share, description: text(1000).optional() }))
      .min(MIN_LABELS)
      .max(MAX_LABELS),
    passing_score: share,
    sampling_rate: share.default(DEFAULT_SAMPLING_RATE),
    model_id: text(256).optional(),
    harness: z
      .strictObject({
        type: z.enum(HARNESS_TYPES).optional(),
        model_id: text(256).optional(),
        reasoning_level: text(256).optional(),
      })
      .optional(),
  })
  .superRefine(({ labels, passing_score: passingScore }, context) => {
    const message = complaintAboutLabels(labels, passingScore);
    if (message !== undefined) context.addIssue({ code: 'custom', path: ['labels'], message });
  });

export type ScorerFile = z.output<typeof scorerFileSchema>;

/** @param found the name of the file's directory, what follows the front matter, and the agents that it names, by their uids */
export const settingsOfScorerFile = (
  file: ScorerFile,
  found: Pick<ScorerSettings, 'name' | 'rubric' | 'agentUids'>,
): ScorerSettings => ({
  ...found,
  labels: file.labels,
  passingScore: file.passing_score,
  samplingRate: file.sampling_rate,
  modelId: file.model_id,
  harness: file.harness,
});
