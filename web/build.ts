import { buildConsole } from './console-build.ts'

/** `node web/build.ts` builds the console if its sources have changed. `--watch` rebuilds it after every change. */
if (process.argv.includes('--watch')) {
  const { watchConsole } = await import('./console-watch.ts')
  await watchConsole()
} else {
  await buildConsole()
}
