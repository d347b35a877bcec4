declare module "bundle:*" {
  const text: string;
  export default text;
}
