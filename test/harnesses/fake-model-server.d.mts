export function startFakeModelServer(): Promise<{ url: string; close(): Promise<void> }>;
