import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs a program whose output is printed to this terminal. Resolves to true if the program succeeded. */
export function run(
  program: string,
  programArguments: readonly string[],
  environment: Record<string, string> = {},
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, programArguments, {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, ...environment },
    })
    child.on('error', reject)
    child.on('exit', (code) => resolve(code === 0))
  })
}

const installed = (name: string) => fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url))

/** Checks types, format, lint and plain language. The rules of the architecture are checked by a test. */
export async function check(): Promise<boolean> {
  // With these options, TypeScript checks only the files that changed and the files that depend on them.
  const incremental = (name: string) => [
    '--incremental',
    '--tsBuildInfoFile',
    `node_modules/.cache/${name}.tsbuildinfo`,
  ]
  const results = await Promise.all([
    run(installed('tsc'), ['-p', 'tsconfig.json', ...incremental('types')]),
    run(installed('tsc'), ['-p', 'web/tsconfig.json', ...incremental('console')]),
    run(installed('biome'), ['check', '--error-on-warnings', '.']),
    run(process.execPath, ['tools/language-check.ts']),
  ])
  return results.every(Boolean)
}
