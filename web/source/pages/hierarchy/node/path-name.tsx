const separator = ' › '

/**
 * `PathName` shows the names on the path to a node in one line. If the line is too long, the names above the node are
 * cut, and the name of the node stays visible.
 */
export function PathName({ names }: { names: readonly string[] }) {
  const above = names.slice(0, -1).map((name) => name + separator)
  return (
    <span className="path-name" title={names.join(separator)}>
      {above.length > 0 && <span className="path-above">{above.join('')}</span>}
      <span className="path-node">{names.at(-1)}</span>
    </span>
  )
}
