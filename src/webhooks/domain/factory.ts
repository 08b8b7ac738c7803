/** `managed`: edited by the API. `repository`: defined by files, so that the API does not edit its webhooks. */
export const FACTORY_MODES = ['managed', 'repository'] as const;
export type FactoryMode = (typeof FACTORY_MODES)[number];

/** Every team has a factory of this name, which is neither deleted nor renamed. */
export const DEFAULT_FACTORY_NAME = 'default';

/** What groups a team's webhooks and automations. */
export interface Factory {
  uid: string;
  teamUid: string;
  name: string;
  mode: FactoryMode;
  createdAt: Date;
  updatedAt: Date;
}

export const isDefaultFactory = ({ name }: Factory): boolean => name.toLowerCase() === DEFAULT_FACTORY_NAME;
