import { useEffect, useRef, useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { TextField } from '../../../components/forms/fields.tsx'
import { Form } from '../../../components/forms/form.tsx'
import type { PromptMessage } from '../streams/stream-message.ts'
import { terminalMessages } from './messages.ts'

type SignInFormProps = {
  prompt: PromptMessage
  onAnswer: (answers: readonly string[]) => void
  onCancel: () => void
}

/**
 * `SignInForm` asks the questions of the device, for example for the user name and the password. The answers are sent
 * to the gateway and are not in the output of the terminal.
 */
export function SignInForm({ prompt, onAnswer, onCancel }: SignInFormProps) {
  const text = useText(terminalMessages)
  const [answers, setAnswers] = useState<readonly string[]>(() => prompt.prompts.map(() => ''))
  const first = useRef<HTMLInputElement>(null)
  useEffect(() => first.current?.focus(), [])
  const labelOf = (label: string) => {
    const plain = label.trim().replace(/:$/, '')
    if (/^user ?name$/i.test(plain)) return text.userName
    return /^password$/i.test(plain) ? text.password : plain
  }
  const submit = () => {
    onAnswer(answers)
    return false as const
  }
  return (
    <div className="terminal-sign-in">
      <h2>{prompt.title.trim() || text.signIn}</h2>
      {prompt.instructions.trim() !== '' && <p>{prompt.instructions}</p>}
      <Form action={text.signInButton} onSubmit={submit} onCancel={onCancel}>
        {prompt.prompts.map(({ text: label, isSecret }, index) => (
          <TextField
            // biome-ignore lint/suspicious/noArrayIndexKey: the device may ask the same question twice
            key={index}
            label={labelOf(label)}
            type={isSecret ? 'password' : 'text'}
            value={answers[index] ?? ''}
            onChange={(value) => setAnswers(answers.with(index, value))}
            {...(index === 0 && { ref: first })}
          />
        ))}
      </Form>
    </div>
  )
}
