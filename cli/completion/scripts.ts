import type { Command } from 'commander'

export const shells = ['bash', 'zsh', 'fish'] as const

/** One command: the words that lead to it, what may follow, and its options. */
type Place = {
  path: string
  description: string
  commands: { name: string; description: string }[]
  options: { flags: string[]; description: string; choices: readonly string[] }[]
  choices: readonly string[]
}

/** Every command of the tree. */
export function treeOf(command: Command, path = ''): Place[] {
  const own: Place = {
    path,
    description: command.description(),
    commands: command.commands.map((one) => ({ name: one.name(), description: one.description() })),
    options: [
      ...command.options.map(({ short, long, description, argChoices = [] }) => ({
        flags: [short, long].flatMap((flag) => flag ?? []),
        description,
        choices: argChoices,
      })),
      { flags: ['--help'], description: 'what there is to say about it', choices: [] },
    ],
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  }
  return [own, ...command.commands.flatMap((one) => treeOf(one, path === '' ? one.name() : `${path} ${one.name()}`))]
}

export function scriptFor(shell: (typeof shells)[number], tree: readonly Place[]): string {
  return { bash, zsh, fish }[shell](tree)
}

function wordsOf({ commands, options, choices }: Place): string[] {
  return [...commands.map(({ name }) => name), ...choices, ...options.flatMap(({ flags }) => flags)]
}

/** Words that stand for values go by file names, as the shell does it. */
function bash(tree: readonly Place[]): string {
  const cases = tree.map((place) => `    '${place.path}') words='${wordsOf(place).join(' ')}' ;;`)
  const names = tree.map(({ path }) => `'${path}'`).join('|')
  return `# bash completion for millwright
_millwright() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' word next words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) continue ;; esac
    next="\${path:+$path }$word"
    case "$next" in ${names}) path="$next" ;; *) break ;; esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _millwright millwright`
}

function zsh(tree: readonly Place[]): string {
  const quoted = (text: string) => text.replaceAll("'", "'\\''")
  const entry = (name: string, description: string) => `'${quoted(name.replaceAll(':', '\\:'))}:${quoted(description)}'`
  const cases = tree.map((place) => {
    const entries = [
      ...place.commands.map(({ name, description }) => entry(name, description)),
      ...place.choices.map((choice) => entry(choice, '')),
      ...place.options.flatMap(({ flags, description }) => flags.map((flag) => entry(flag, description))),
    ]
    return `    '${place.path}') words=(${entries.join(' ')}) ;;`
  })
  const names = tree.map(({ path }) => `'${path}'`).join('|')
  return `#compdef millwright
_millwright() {
  local at='' word next
  local -a words_before words
  words_before=("\${(@)words[2,CURRENT-1]}")
  words=()
  for word in "\${words_before[@]}"; do
    case "$word" in -*) continue ;; esac
    next="\${at:+$at }$word"
    case "$next" in ${names}) at="$next" ;; *) break ;; esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  _describe 'millwright' words || _files
}
compdef _millwright millwright`
}

function fish(tree: readonly Place[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = tree.flatMap((place) => {
    const when = `-n ${quoted(`__millwright_at ${quoted(place.path)}`)}`
    return [
      ...place.commands.map(
        ({ name, description }) => `complete -c millwright -f ${when} -a ${quoted(name)} -d ${quoted(description)}`,
      ),
      ...place.choices.map((choice) => `complete -c millwright -f ${when} -a ${quoted(choice)}`),
      ...place.options.map(({ flags, description }) => {
        const written = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
        return `complete -c millwright ${when} ${written.join(' ')} -d ${quoted(description)}`
      }),
    ]
  })
  const paths = tree.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  return `# fish completion for millwright
function __millwright_at
  set -l known ${paths.join(' ')}
  set -l at ''
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; and continue
    set -l next (string trim -- "$at $word")
    contains -- $next $known; or break
    set at $next
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}`
}
