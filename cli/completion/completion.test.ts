import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { run } from '../program.ts'
import { testTerminal } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'millwright-completion-'))
after(() => rmSync(folder, { recursive: true }))

async function scriptOf(shell: string): Promise<string> {
  const { terminal, printed } = testTerminal({})
  assert.equal(await run(['completion', shell], terminal), 0)
  return printed.out
}

/** What bash would offer at the end of a line. */
function offered(script: string, line: string): string[] {
  const words = line.split(' ')
  const program = `
    source ${script}
    COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
    COMP_CWORD=${words.length - 1}
    _millwright
    printf '%s\\n' "\${COMPREPLY[@]}"`
  return execFileSync('bash', ['-c', program], { encoding: 'utf8', cwd: folder }).trim().split('\n')
}

test('bash completes commands at every depth, options and choices', async () => {
  const file = join(folder, 'bash')
  writeFileSync(file, await scriptOf('bash'))
  execFileSync('bash', ['-n', file])
  assert.deepEqual(offered(file, 'millwright dis'), ['discover', 'discoveries'])
  assert.ok(offered(file, 'millwright assets ').includes('onboard'))
  assert.deepEqual(offered(file, 'millwright access server-users ro'), ['rotate'])
  assert.deepEqual(offered(file, 'millwright api inventory listAs'), ['listAssets', 'listAssetRelations'])
  assert.deepEqual(offered(file, 'millwright assets list --relations'), ['--relations-filter'])
  assert.deepEqual(offered(file, 'millwright completion z'), ['zsh'])
})

for (const shell of ['zsh', 'fish']) {
  test(`the script for ${shell} knows the same commands, and can be read where there is one`, async (t) => {
    const script = await scriptOf(shell)
    for (const word of ['discoveries', 'server-users', 'listAssetRelations', 'relations-filter']) {
      assert.ok(script.includes(word), word)
    }
    const file = join(folder, shell)
    writeFileSync(file, script)
    if (spawnSync(shell, ['--version']).error !== undefined) return t.diagnostic(`there is no ${shell} here`)
    execFileSync(shell, ['-n', file])
  })
}
