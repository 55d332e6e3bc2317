import { buildConsole } from './console-build.ts'

/** `node web/build.ts` builds the console if its sources changed; `--watch` rebuilds on every change. */
if (process.argv.includes('--watch')) {
  const { watchConsole } = await import('./console-watch.ts')
  await watchConsole()
} else {
  await buildConsole()
}
