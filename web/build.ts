import { buildConsole } from './console-build.ts'

/** `node web/build.ts` builds what changed since the last time; `--watch` goes on with every change. */
if (process.argv.includes('--watch')) {
  const { watchConsole } = await import('./console-watch.ts')
  await watchConsole()
} else {
  await buildConsole()
}
