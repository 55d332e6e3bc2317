import { spawnSync } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Platform } from './platform.ts'
import { root } from './program.ts'

export type Typed = { code: number | null; stdout: string; stderr: string; statuses: number[] }

/** What a reader of a page types, block by block, in the order of the page. */
export function blocksOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

/** Each answer with its status, and no stream for longer than it takes to see that it begins. */
const watched = `
curl() {
  local limit=60
  case " $* " in *' -sN '*) limit=1 ;; esac
  command curl --max-time $limit -w '%{stderr}status %{http_code}\\n' "$@" || [ $? -eq 28 -a $limit -eq 1 ]
}
npx() { shift; node '${join(root, 'cli/millwright.mjs')}' "$@"; }
`

/** Types blocks of pages into one shell, in the folder of a platform that listens elsewhere than they say. */
export function typeIn(
  { baseUrl, home }: Pick<Platform, 'baseUrl' | 'home'>,
  folder: string,
  blocks: readonly string[],
): Typed {
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
