import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { run } from '../program/program.ts'
import { testTerminal } from '../testing.ts'

const folder = mkdtempSync(join(tmpdir(), 'millwright-completion-'))
after(() => rmSync(folder, { recursive: true }))

async function scriptOf(shell: string): Promise<string> {
  const { terminal, printed } = testTerminal({})
  assert.equal(await run(['completion', shell], terminal), 0)
  return printed.out
}

/** For each shell: how the shell loads the script, and how a test requests the candidates at the end of a line. */
const shells: Record<string, { args: string[]; load: string; ask(words: string[]): string }> = {
  bash: {
    args: [],
    load: 'source ./_millwright',
    ask: (words) => `
      COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
      COMP_CWORD=${words.length - 1}
      _millwright
      printf '%s\n' "\${COMPREPLY[@]}"`,
  },
  // zsh runs the file at the first completion. The test therefore completes each line twice in a shell that has not
  // loaded the script.
  zsh: {
    args: ['-f'],
    load: `
      fpath=(.)
      autoload -U _millwright
      _describe() { print -l -- "\${(@)\${(P)2}%%:*}" | grep -- "^\${words[CURRENT]}" }
      _files() { print -- \${words[CURRENT]}*(N) }`,
    ask: (words) => `(
      words=(${words.map((word) => `'${word}'`).join(' ')})
      CURRENT=${words.length}
      _millwright > first
      _millwright | diff first - && cat first )`,
  },
  fish: {
    args: ['--no-config'],
    load: 'source ./_millwright',
    ask: (words) => `complete -C '${words.join(' ')}'`,
  },
}

function offered(shell: string, lines: readonly string[]): string[][] {
  const { args, load, ask } = shells[shell] ?? assert.fail(shell)
  const program = [load, ...lines.map((line) => `${ask(line.split(' '))}\necho ----`)].join('\n')
  const printed = execFileSync(shell, [...args, '-c', program], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, HOME: folder },
  })
  return printed.split('----\n').map((part) =>
    part
      .trim()
      .split('\n')
      .map((line) => line.split('\t')[0] ?? ''),
  )
}

for (const shell of Object.keys(shells)) {
  test(`${shell} completes commands at every depth, options, choices and files`, async (t) => {
    const script = await scriptOf(shell)
    for (const word of ['discoveries', 'server-users', 'listAssetRelations', 'relations-filter']) {
      assert.ok(script.includes(word), word)
    }
    if (spawnSync(shell, ['--version']).error !== undefined) return t.diagnostic(`there is no ${shell} here`)
    writeFileSync(join(folder, '_millwright'), script)
    execFileSync(shell, ['-n', join(folder, '_millwright')])
    const expected: Record<string, string[]> = {
      'millwright dis': ['discover', 'discoveries'],
      'millwright access server-users ro': ['rotate'],
      'millwright api inventory listAs': ['listAssetRelations', 'listAssets'],
      'millwright assets list --relations': ['--relations-filter'],
      'millwright completion z': ['zsh'],
      'millwright jobs list --phase f': ['failed', 'finished'],
      'millwright jobs --type discovery list --ph': ['--phase'],
      'millwright gateway onboard x --out _mill': ['_millwright'],
    }
    const lines = Object.keys(expected)
    const [all = [], ...found] = offered(shell, ['millwright assets ', ...lines])
    assert.ok(all.includes('onboard'))
    for (const [index, line] of lines.entries()) assert.deepEqual(found[index]?.toSorted(), expected[line], line)
  })
}
