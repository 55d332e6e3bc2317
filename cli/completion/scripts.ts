import type { Command } from 'commander'

export const shells = ['bash', 'zsh', 'fish'] as const

/**
 * `CommandNode` describes one command for completion: its path, its subcommands, its options and the choices of its
 * arguments.
 */
type CommandNode = {
  path: string
  description: string
  commands: { name: string; description: string }[]
  options: { flags: string[]; description: string; takesValue: boolean; choices: readonly string[] }[]
  choices: readonly string[]
}

/** Returns all commands of the tree, depth first. */
export function treeOf(command: Command, path = ''): CommandNode[] {
  const own: CommandNode = {
    path,
    description: command.description(),
    commands: command.commands.map((one) => ({ name: one.name(), description: one.description() })),
    options: [
      ...command.options.map(({ short, long, description, required, optional, argChoices = [] }) => ({
        flags: [short, long].flatMap((flag) => flag ?? []),
        description,
        takesValue: required || optional,
        choices: argChoices,
      })),
      { flags: ['--help'], description: 'show the help of the command', takesValue: false, choices: [] },
    ],
    choices: command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices),
  }
  return [own, ...command.commands.flatMap((one) => treeOf(one, path === '' ? one.name() : `${path} ${one.name()}`))]
}

export function scriptFor(shell: (typeof shells)[number], tree: readonly CommandNode[]): string {
  return { bash, zsh, fish }[shell](tree)
}

/**
 * Returns the options that take a value in every command that has them. Options that take a value only in some of their
 * commands are left out.
 */
function valueFlags(tree: readonly CommandNode[]): string[] {
  const options = tree.flatMap((place) => place.options)
  const withoutValue = new Set(options.filter(({ takesValue }) => !takesValue).flatMap(({ flags }) => flags))
  const withValue = options.filter(({ takesValue }) => takesValue).flatMap(({ flags }) => flags)
  return [...new Set(withValue)].filter((flag) => !withoutValue.has(flag)).toSorted()
}

type Candidate = { name: string; description: string }
type CandidateList = { at: string[]; candidates: Candidate[] }

/**
 * Returns the completion candidates after each command, and the candidates for the value of each option with choices.
 */
function candidatesOf(tree: readonly CommandNode[]): { optionValues: CandidateList[]; commandWords: CandidateList[] } {
  const plain = (choices: readonly string[]) => choices.map((name) => ({ name, description: '' }))
  const optionValues = tree.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .map(({ flags, choices }) => ({ at: flags.map((flag) => `${path} ${flag}`), candidates: plain(choices) })),
  )
  const commandWords = tree.map(({ path, commands, choices, options }) => {
    const flagged = options.flatMap(({ flags, description }) => flags.map((name) => ({ name, description })))
    return { at: [path], candidates: [...commands, ...plain(choices), ...flagged] }
  })
  return { optionValues, commandWords }
}

/**
 * Returns the part of the script that bash and zsh share. It finds the command that the user has typed, and selects the
 * candidates.
 */
function selectionScript(
  tree: readonly CommandNode[],
  words: string,
  format: (candidates: Candidate[]) => string,
): string {
  const flags = valueFlags(tree).join('|')
  const { optionValues, commandWords } = candidatesOf(tree)
  const cases = (candidates: readonly CandidateList[]) =>
    candidates.map(
      ({ at, candidates: own }) => `      ${at.map((one) => `'${one}'`).join('|')}) offered=${format(own)} ;;`,
    )
  return `  for word in ${words}; do
    if [ -n "$isValue" ]; then isValue=''; continue; fi
    case "$word" in ${flags}) isValue=1; continue ;; -*) continue ;; esac
    next="\${at:+$at }$word"
    case "$next" in ${tree.map(({ path }) => `'${path}'`).join('|')}) at="$next" ;; *) break ;; esac
  done
  case "$previous" in
    ${flags}) case "$at $previous" in
${cases(optionValues).join('\n')}
    esac ;;
    *) case "$at" in
${cases(commandWords).join('\n')}
    esac ;;
  esac`
}

/** Returns the script for bash. Arguments without choices are completed as file names. */
function bash(tree: readonly CommandNode[]): string {
  const format = (candidates: Candidate[]) => `'${candidates.map(({ name }) => name).join(' ')}'`
  return `# bash completion for millwright
_millwright() {
  local at='' word next isValue='' offered=''
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
${selectionScript(tree, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`, format)}
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then COMPREPLY=($(compgen -f -- "$current")); fi
}
complete -o filenames -F _millwright millwright`
}

/**
 * Returns the script for zsh. At the first completion, the shell runs the whole file; later, it only calls the function
 * that the file defines. Candidates are returned in both cases.
 */
function zsh(tree: readonly CommandNode[]): string {
  const quoted = (text: string) => text.replaceAll("'", "'\\''")
  const entry = ({ name, description }: Candidate) =>
    `'${quoted(name.replaceAll(':', '\\:'))}${description === '' ? '' : `:${quoted(description)}`}'`
  const format = (candidates: Candidate[]) => `(${candidates.map(entry).join(' ')})`
  return `#compdef millwright
_millwright() {
  local at='' word next isValue='' previous="\${words[CURRENT-1]}"
  local -a offered
${selectionScript(tree, `"\${(@)words[2,CURRENT-1]}"`, format)}
  if (( $#offered )); then _describe 'millwright' offered || _files; else _files; fi
}
if [ "$funcstack[1]" = _millwright ]; then _millwright "$@"; else compdef _millwright millwright; fi`
}

/**
 * Returns the script for fish. One function selects the candidates, because hundreds of separate `complete` conditions
 * would take a second per key press.
 */
function fish(tree: readonly CommandNode[]): string {
  const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const entry = ({ name, description }: Candidate) => quoted(description === '' ? name : `${name}\t${description}`)
  const { optionValues, commandWords } = candidatesOf(tree)
  const cases = (candidates: readonly CandidateList[]) =>
    candidates.map(
      ({ at, candidates: own }) =>
        `      case ${at.map(quoted).join(' ')}\n        set offered ${own.map(entry).join(' ')}`,
    )
  return `# fish completion for millwright
function __millwright_decide
  set -l flags ${valueFlags(tree).join(' ')}
  set -l known ${tree.map(({ path }) => quoted(path)).join(' ')}
  set -l typed (commandline -opc)
  set -l at ''
  set -l is_value no
  for word in $typed[2..]
    if test $is_value = yes
      set is_value no
      continue
    end
    if contains -- $word $flags
      set is_value yes
      continue
    end
    string match -q -- '-*' $word; and continue
    set -l next (string trim -- "$at $word")
    contains -- $next $known; or break
    set at $next
  end
  set -l offered
  if contains -- $typed[-1] $flags
    switch "$at $typed[-1]"
${cases(optionValues).join('\n')}
    end
  else
    switch "$at"
${cases(commandWords).join('\n')}
    end
  end
  set -g __millwright_offered (string match -r -- '^'(string escape --style=regex -- (commandline -ct))'.*' $offered)
  test (count $__millwright_offered) -gt 0
end
complete -c millwright -n __millwright_decide -f -k -a '$__millwright_offered'`
}
