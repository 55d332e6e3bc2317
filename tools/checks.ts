import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** A program of ours with its output on this terminal; true when it succeeded. */
export function run(
  program: string,
  given: readonly string[],
  environment: Record<string, string> = {},
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, given, { cwd: root, stdio: 'inherit', env: { ...process.env, ...environment } })
    child.on('error', reject)
    child.on('exit', (code) => resolve(code === 0))
  })
}

const installed = (name: string) => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))

/** Types, format and lint; the map of the house is a test. */
export async function check(): Promise<boolean> {
  // Only what changed, and what stands on it, is looked at again.
  const known = (name: string) => ['--incremental', '--tsBuildInfoFile', `node_modules/.cache/${name}.tsbuildinfo`]
  const results = await Promise.all([
    run(installed('tsc'), ['-p', 'tsconfig.json', ...known('types')]),
    run(installed('tsc'), ['-p', 'web/tsconfig.json', ...known('console')]),
    run(installed('biome'), ['check', '--error-on-warnings', '.']),
  ])
  return results.every(Boolean)
}
