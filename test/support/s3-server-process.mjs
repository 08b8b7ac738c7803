// A server that speaks S3 and checks signatures, in a process of its own: `node s3-server-process.mjs DIRECTORY BUCKET` prints its port.
import S3rver from '@20minutes/s3rver';

// Two mistakes of it that would refuse what Amazon's accepts. The first: a signed query encodes !'()* as well (RFC 3986).
const encode = globalThis.encodeURIComponent;
globalThis.encodeURIComponent = (text) =>
  encode(text).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

const [directory, bucket] = process.argv.slice(2);
const server = new S3rver({
  address: '127.0.0.1',
  port: 0,
  silent: true,
  directory,
  allowMismatchedSignatures: false,
  configureBuckets: [{ name: bucket }],
});
server.middleware.unshift((ctx, next) => {
  // The second: the path of a bucket is signed with the slash at its end.
  if (/^\/[^/]+\/$/.test(ctx.path)) {
    ctx.state = new Proxy(ctx.state, { get: (state, name) => (name === 'vhost' ? true : state[name]) });
    ctx.mountPath = '/';
  }
  return next();
});
const { port } = await server.run();
process.stdout.write(`${port}\n`);
