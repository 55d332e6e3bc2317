import { watch } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildConsole } from './console-build.ts'

const web = dirname(fileURLToPath(import.meta.url))
/** The delay between a change and the build, because editors write a file in several steps. */
const debounceMs = 150

/**
 * Rebuilds the console after every change until the process ends. A failed build is reported, and the previous build
 * stays in use.
 */
export async function watchConsole(): Promise<never> {
  let change = Promise.withResolvers<void>()
  for (const folder of ['source', 'public', '../api']) {
    watch(join(web, folder), { recursive: true }, () => change.resolve())
  }
  for (;;) {
    change = Promise.withResolvers<void>()
    await buildConsole().catch((error: Error) => process.stderr.write(`${error.message}\n`))
    await change.promise
    await delay(debounceMs)
  }
}
