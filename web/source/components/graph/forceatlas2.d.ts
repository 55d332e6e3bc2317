declare module 'graphology-layout-forceatlas2/iterate.js' {
  type Settings = { [name: string]: number | boolean }
  /** Runs one iteration of the layout, which changes the positions in the node matrix. */
  function iterate(settings: Settings, nodes: Float32Array, edges: Float32Array): object
  export = iterate
}
