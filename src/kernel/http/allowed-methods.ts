import type { Application } from 'express';

interface RouterLayer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** The methods that some route answers at this path, upper case; empty when no route knows the path. */
export function allowedMethods(app: Application, path: string): string[] {
  const layers = app.router.stack as unknown as RouterLayer[];
  const methods = new Set<string>();
  for (const layer of layers) {
    if (layer.route === undefined || !layer.match(path)) continue;
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}
