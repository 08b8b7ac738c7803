export { CatalogModule } from './catalog.module.js';
export type { EnvironmentConfig } from './domain/environment-config.js';
