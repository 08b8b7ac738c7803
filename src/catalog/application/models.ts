import type { DisableReason, Model, ModelCatalogue, ModelHarness } from '../domain/model.js';

export type ModelCheck =
  /** Any of these harnesses can run it. */
  | { outcome: 'ok'; harnesses: readonly ModelHarness[] }
  | { outcome: 'unknown' }
  | { outcome: 'disabled'; reason: DisableReason };

/** The models that runs may name. They are the same for every team, and do not change while the process runs. */
export class Models {
  private readonly byId: ReadonlyMap<string, Model>;

  constructor(private readonly catalogue: ModelCatalogue) {
    this.byId = new Map(catalogue.models.map((model) => [model.id, model]));
  }

  /** The model of a run for which nothing else names one. */
  get defaultModelId(): string {
    return this.catalogue.default;
  }

  /** All of them, the disabled ones too, in the order of the catalogue. */
  get all(): readonly Model[] {
    return this.catalogue.models;
  }

  /** Whether a run may use the model. */
  check(modelId: string): ModelCheck {
    const model = this.byId.get(modelId);
    if (model === undefined) return { outcome: 'unknown' };
    if (model.disabled !== undefined) return { outcome: 'disabled', reason: model.disabled };
    return { outcome: 'ok', harnesses: model.harness };
  }
}
