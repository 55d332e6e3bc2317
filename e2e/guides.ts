import { spawnSync } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Platform } from './platform.ts'
import { root } from './program.ts'

export type ShellResult = { code: number | null; stdout: string; stderr: string; statuses: number[] }

/** Returns the code blocks with shell commands of a documentation page, in the order of the page. */
export function blocksOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

/**
 * The shell functions that replace `curl`, `millwright` and `npx`. `curl` prints the status of each response and ends a
 * stream after one second. `millwright` and `npx millwright` run the CLI of this checkout.
 */
const watched = `
curl() {
  local limit=60
  case " $* " in *' -sN '*) limit=1 ;; esac
  command curl --max-time $limit -w '%{stderr}status %{http_code}\\n' "$@" || [ $? -eq 28 -a $limit -eq 1 ]
}
millwright() { node '${join(root, 'cli/millwright.mjs')}' "$@"; }
npx() { "$@"; }
`

/**
 * Runs the code blocks of documentation pages in one shell, with the given folder as working folder. The default
 * address of a platform in the text is replaced by the address of this platform.
 */
export function runInShell(
  { baseUrl, home }: Pick<Platform, 'baseUrl' | 'home'>,
  folder: string,
  blocks: readonly string[],
): ShellResult {
  symlinkSync(home, join(folder, '.millwright'))
  const script = ['set -euo pipefail', watched, ...blocks].join('\n').replaceAll('http://127.0.0.1:8080', baseUrl)
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: folder },
  })
  const statuses = [...stderr.matchAll(/^status (\d+)$/gm)].map(([, text]) => Number(text))
  return { code: status, stdout, stderr, statuses }
}
