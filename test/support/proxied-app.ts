import { DatabaseProxy } from './database-proxy.js';
import { startTestApp, type TestApp } from './test-app.js';

export interface ProxiedApp {
  /** Reaches its database through the proxy. */
  app: TestApp;
  /** The same installation, without the proxy between. */
  direct: TestApp;
  proxy: DatabaseProxy;
  close(): Promise<void>;
}

export async function startProxiedApp(): Promise<ProxiedApp> {
  const direct = await startTestApp();
  const proxy = await DatabaseProxy.to(direct.databaseUrl);
  const app = await startTestApp({}, { ...direct, databaseUrl: proxy.url });
  const close = async (): Promise<void> => {
    await app.close();
    await proxy.close();
    await direct.close();
  };
  return { app, direct, proxy, close };
}
