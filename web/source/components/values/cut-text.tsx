import './cut-text.css'

/** The number of characters at the end of a text that stay visible. */
const endLength = 9

/**
 * `CutText` shows a text in one line. If the line is too short, the middle of the text is cut, because the names of assets in one
 * place often differ only at their end. Screen readers read the complete text, because the two parts are separate elements.
 */
export function CutText({ text }: { text: string }) {
  const start = text.slice(0, Math.max(0, text.length - endLength))
  if (start === '') return text
  return (
    <>
      <span className="unseen">{text}</span>
      <span className="cut-text" aria-hidden="true">
        <span className="cut-text-start">{start}</span>
        <span className="cut-text-end">{text.slice(start.length)}</span>
      </span>
    </>
  )
}
