import { Injectable } from '@nestjs/common';
import { Problem } from '../../kernel/errors/problem.js';
import { ModelChoice } from '../../runs/index.js';
import type { Judge } from '../domain/evaluation.js';
import type { ScorerSettings } from '../domain/scorer.js';

/** What judges think with. */
@Injectable()
export class Judges {
  constructor(private readonly models: ModelChoice) {}

  /** That of a scorer, with the system's defaults. */
  of({ modelId, harness }: Pick<ScorerSettings, 'modelId' | 'harness'>): Judge {
    const config = this.models.withDefaults({ model_id: modelId, harness });
    return { modelId: config.model_id, harness: config.harness };
  }

  /** Why no run can be made for it now, such as a model that has been disabled since. */
  complaintAbout({ modelId, harness }: Judge): string | undefined {
    try {
      this.models.check({ model_id: modelId, harness });
      return undefined;
    } catch (error) {
      if (error instanceof Problem) return error.message;
      throw error;
    }
  }
}
