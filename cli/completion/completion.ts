import { Argument, type Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { scriptFor, shells, treeOf } from './scripts.ts'

export function addCommands(completion: Command, terminal: Terminal): void {
  completion
    .addArgument(new Argument('<shell>', 'your shell').choices(shells))
    .addHelpText(
      'after',
      `
The script contains all commands and options; completion runs no program. Create the script again after an upgrade.

  bash   millwright completion bash > ~/.local/share/bash-completion/completions/millwright
  zsh    millwright completion zsh > "\${fpath[1]}/_millwright"
  fish   millwright completion fish > ~/.config/fish/completions/millwright.fish`,
    )
    .action(async (shell: (typeof shells)[number]) => {
      const program = completion.parent
      if (program !== null) await terminal.print(scriptFor(shell, treeOf(program)))
    })
}
